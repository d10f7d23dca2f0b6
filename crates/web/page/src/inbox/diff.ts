// What each line of a diff is. The names of the file stand before the first hunk only: after it `--- x` is a line that goes.

export type LineKind = "file" | "hunk" | "added" | "removed" | "same" | "note";

export interface DiffLine {
  text: string;
  kind: LineKind;
}

export function diffLines(text: string): DiffLine[] {
  let isInHunk = false;
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const isHunk = line.startsWith("@@");
      isInHunk ||= isHunk;
      return { text: line, kind: isHunk ? "hunk" : kindOf(line, isInHunk) };
    });
}

function kindOf(line: string, isInHunk: boolean): LineKind {
  if (line.startsWith("+")) return isInHunk ? "added" : "file";
  if (line.startsWith("-")) return isInHunk ? "removed" : "file";
  // What is neither stands beside the diff, such as that something was cut.
  return line === "" || line.startsWith(" ") ? "same" : "note";
}
