// Where everything stands in the picture of who called whom: names whole, and no number over another or over a name.

export interface Edge {
  from: string;
  to: string;
  count: number;
}

export type Kind = "person" | "agent" | "tool";

export interface Node {
  id: string;
  kind: Kind;
  /** The name, in as many lines as it takes. */
  lines: string[];
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Arrow {
  edge: Edge;
  /** Where it begins, where it bends to, and where it ends. */
  path: [Point, Point, Point];
  label: Box;
}

export interface Point {
  x: number;
  y: number;
}

/** By its middle. */
export interface Box extends Point {
  width: number;
  height: number;
}

export interface Picture {
  nodes: Node[];
  arrows: Arrow[];
  width: number;
  height: number;
}

const ROW = 68;
const GAP = 190;
const EDGE = 12;
/** So much room do arrows between agents take beside them. */
const BESIDE = 110;
const LINE = 22;
const LINES = 3;
const LETTER = 7.8;
const KINDS: Kind[] = ["person", "agent", "tool"];

export function picture(edges: readonly Edge[]): Picture {
  const ids = [...new Set(edges.flatMap((edge) => [edge.from, edge.to]))];
  const columns = KINDS.map((kind) => ids.filter((id) => kindOf(id) === kind).map((id) => sized(id, kind)));
  const rows = Math.max(0, ...columns.map((column) => column.length));
  const widths = columns.map((column) => Math.max(0, ...column.map((node) => node.width)));
  let left = columns[0]?.length ? EDGE : BESIDE;
  columns.forEach((column, at) => {
    const width = widths[at] ?? 0;
    if (column.length === 0) return;
    column.forEach((node, row) => {
      node.x = left + width / 2;
      node.y = EDGE + ROW / 2 + ((rows - column.length) / 2 + row) * ROW;
    });
    left += width + GAP;
  });
  const nodes = columns.flat();
  const right = left - GAP + (columns[2]?.length ? EDGE : BESIDE);
  return { nodes, arrows: arrows(edges, nodes), width: right, height: rows * ROW + 2 * EDGE };
}

function kindOf(id: string): Kind {
  return id === "human" ? "person" : id.startsWith("⚙") ? "tool" : "agent";
}

function sized(id: string, kind: Kind): Node {
  const lines = broken(id);
  const width = Math.max(96, Math.max(...lines.map((line) => [...line].length)) * LETTER + 26);
  return { id, kind, lines, x: 0, y: 0, width, height: 16 + lines.length * 16 };
}

/** A name in lines, broken after a sign where there is one. */
export function broken(name: string): string[] {
  const lines: string[] = [];
  let rest = name;
  while ([...rest].length > LINE && lines.length < LINES - 1) {
    const head = [...rest].slice(0, LINE).join("");
    const sign = /^.{8,}[\s_.:/-]/u.exec(head)?.[0] ?? head;
    lines.push(sign);
    rest = rest.slice(sign.length);
  }
  const last = [...rest];
  return [...lines, last.length > LINE ? `${last.slice(0, LINE - 1).join("")}…` : rest];
}

function arrows(edges: readonly Edge[], nodes: readonly Node[]): Arrow[] {
  const find = new Map(nodes.map((node) => [node.id, node]));
  const taken: Box[] = [...nodes];
  return edges.flatMap((edge) => {
    const from = find.get(edge.from);
    const to = find.get(edge.to);
    if (!from || !to) return [];
    const path = from.kind === to.kind ? beside(from, to) : across(from, to);
    const label = freePlace(path, { width: String(edge.count).length * 7 + 4, height: 13 }, taken);
    taken.push(label);
    return [{ edge, path, label }];
  });
}

/** Between two of a column: down on the right, up on the left, and the farther the wider. */
function beside(from: Node, to: Node): Arrow["path"] {
  const side = from.y < to.y ? 1 : -1;
  const start = { x: from.x + (side * from.width) / 2, y: from.y };
  const end = { x: to.x + (side * to.width) / 2, y: to.y };
  const far = (Math.abs(from.y - to.y) / ROW) * 26 + 26;
  const outer = side * Math.max(side * start.x, side * end.x);
  return [start, { x: outer + side * far, y: (start.y + end.y) / 2 }, end];
}

/** There and back are two lines: one bends up, the other down. */
function across(from: Node, to: Node): Arrow["path"] {
  const side = from.x < to.x ? 1 : -1;
  const start = { x: from.x + (side * from.width) / 2, y: from.y };
  const end = { x: to.x - (side * to.width) / 2, y: to.y };
  return [start, { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 - side * 20 }, end];
}

/** The place on a line that is nearest to its middle and free. */
function freePlace(path: Arrow["path"], size: { width: number; height: number }, taken: readonly Box[]): Box {
  const at = (share: number): Box => ({ ...onCurve(path, share), ...size });
  for (let step = 0; step <= 20; step += 1)
    for (const share of [0.5 + step * 0.02, 0.5 - step * 0.02]) {
      const box = at(share);
      if (!taken.some((other) => overlap(box, other))) return box;
    }
  return at(0.5);
}

function onCurve([start, bend, end]: Arrow["path"], share: number): Point {
  const rest = 1 - share;
  const along = (a: number, b: number, c: number) => rest * rest * a + 2 * rest * share * b + share * share * c;
  return { x: along(start.x, bend.x, end.x), y: along(start.y, bend.y, end.y) };
}

export function overlap(one: Box, other: Box): boolean {
  return (
    Math.abs(one.x - other.x) < (one.width + other.width) / 2 &&
    Math.abs(one.y - other.y) < (one.height + other.height) / 2
  );
}
