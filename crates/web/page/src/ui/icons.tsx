// The few signs that the page uses, drawn here: no font, nothing loaded.

const PATHS = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3.5 8.5l3 3 6-7",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M8 13V3.5M4 7l4-4 4 4",
  arrowDown: "M8 3v9.5M4 9l4 4 4-4",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  edit: "M10.5 3.5l2 2L6 12l-2.6.6L4 10zM9.3 4.7l2 2",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 8.5h6l.5-8.5M7 7v4M9 7v4",
  fork: "M5 3.5v4a2 2 0 002 2h2a2 2 0 012 2v1M5 7v5.5M5 3.5h.01M5 12.5h.01M11 12.5h.01",
  link: "M7 9a2.5 2.5 0 003.5 0l2-2A2.5 2.5 0 009 3.5l-.7.7M9 7a2.5 2.5 0 00-3.5 0l-2 2A2.5 2.5 0 007 12.5l.7-.7",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  stop: "M5 5h6v6H5z",
  retry: "M13 8a5 5 0 11-1.6-3.7M13 2.5V5h-2.5",
  inbox: "M2.5 9.5l2-6h7l2 6v3h-11zM2.5 9.5h3.2l.8 1.5h3l.8-1.5h3.2",
  gear: "M8 5.8a2.2 2.2 0 100 4.4 2.2 2.2 0 000-4.4zM8 1.8v1.7M8 12.5v1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M1.8 8h1.7M12.5 8h1.7M3.6 12.4l1.2-1.2M11.2 4.8l1.2-1.2",
  clock: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM8 5v3.2l2 1.3",
  tool: "M9.8 3.2a3 3 0 00-3.6 3.9L2.8 10.500l2.700 2.700 3.400-3.400a3 3 0 003.900-3.600L11 8 8 7.500 8 5z",
  terminal: "M2.5 3.5h11v9h-11zM5 6.500l1.700 1.500L5 9.500M8.500 10h2.500",
  file: "M4 2.500h5l3 3v8H4zM9 2.500v3h3",
  shield: "M8 2l5 2v3.500c0 3-2.200 5.300-5 6.500-2.800-1.200-5-3.500-5-6.500V4z",
  globe: "M8 2.500a5.500 5.500 0 100 11 5.500 5.500 0 000-11zM2.500 8h11M8 2.500c2 2 2 9 0 11M8 2.500c-2 2-2 9 0 11",
  sun: "M8 5.500a2.500 2.500 0 100 5 2.500 2.500 0 000-5zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1",
  moon: "M13 9.500A5.500 5.500 0 016.500 3a5.500 5.500 0 106.500 6.500z",
  half: "M8 2.500a5.500 5.500 0 100 11zM8 2.500a5.500 5.500 0 010 11",
  image: "M2.500 3.500h11v9h-11zM2.500 11l3-3 2.500 2.500L10.500 8l3 3M6 6h.01",
  warn: "M8 2.500l6 10.500H2zM8 6.500v3M8 11.300h.01",
  chart: "M3 13V8M7 13V3.500M11 13V6M2 13.500h12",
  list: "M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.01M2.500 8h.01M2.500 12h.01",
  search: "M7 2.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9zM10.300 10.300l3.200 3.200",
  panel: "M2.500 3h11v10h-11zM10 3v10",
  side: "M2.500 3h11v10h-11zM6 3v10",
  people:
    "M6 7.500a2.200 2.200 0 100-4.400 2.200 2.200 0 000 4.400zM1.800 13c.4-2.600 2-3.800 4.200-3.800s3.800 1.200 4.200 3.800M10.500 3.400a2.200 2.200 0 010 4M11.800 9.600c1.400.5 2.200 1.600 2.500 3.400",
  bell: "M4 11V7.300a4 4 0 018 0V11l1.200 1.500H2.800zM6.700 14.300h2.600",
  bellOff:
    "M4.600 5.300A4 4 0 004 7.300V11l-1.200 1.500h8.700M6 3.900a4 4 0 016 3.400v3M6.700 14.300h2.600M2.500 2.500l11 11",
  out: "M6.500 3h-3v10h3M10 5l3 3-3 3M13 8H6.500",
  download: "M8 2.500v8M4.500 7.500L8 11l3.500-3.500M3 13.500h10",
  upload: "M8 11V3M4.500 6L8 2.500 11.500 6M3 13.500h10",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: kind = "icon", size = 16 }: { name: IconName; class?: string; size?: number }) {
  const width = name === "more" ? 2.4 : 1.4;
  return (
    <svg
      class={kind}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width={width}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
