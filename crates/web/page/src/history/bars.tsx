// Bars below each other, drawn as SVG beside their names and numbers.

export interface Bar {
  label: string;
  parts: number[];
}

interface Props {
  title: string;
  unit: string;
  legend: string[];
  bars: Bar[];
}

const MOST = 20;

export function Bars({ title, unit, legend, bars }: Props) {
  const total = (bar: Bar) => bar.parts.reduce((sum, part) => sum + part, 0);
  const sorted = [...bars].sort((a, b) => total(b) - total(a)).slice(0, MOST);
  const largest = Math.max(1, ...sorted.map(total));
  if (sorted.length === 0) return null;
  return (
    <section class="box">
      <h2 class="section-title">{title}</h2>
      <ul class="legend-list" aria-hidden="true">
        {legend.map((name, at) => (
          <li key={name}>
            <span class={`swatch part-${at}`} /> {name}
          </li>
        ))}
      </ul>
      <ul class="bars">
        {sorted.map((bar) => (
          <li key={bar.label}>
            <span class="cut">{bar.label}</span>
            <Drawn parts={bar.parts} largest={largest} />
            <span class="number">
              {total(bar).toLocaleString("en")}
              <span class="off-screen">
                {unit}, {legend.map((name, at) => `${bar.parts[at] ?? 0} ${name}`).join(", ")}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Drawn({ parts, largest }: { parts: number[]; largest: number }) {
  let from = 0;
  return (
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="10" rx="1" />
      {parts.map((part, at) => {
        const x = from;
        const width = (part / largest) * 100;
        from += width;
        return part > 0 ? <rect key={at} class={`part-${at}`} x={x} width={width} height="10" /> : null;
      })}
    </svg>
  );
}
