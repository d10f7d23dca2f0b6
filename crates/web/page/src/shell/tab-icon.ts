// The sign in the tab: calm, or with how many requests wait. Drawn here, since there is one for each number.

import calm from "../icons/calm.svg";

/** The address of the icon for so many requests. */
export function tabIcon(count: number): string {
  if (count === 0) return calm;
  const shown = count > 99 ? "99" : String(count);
  // At 16 pixels only a large figure can be read: it takes most of the sign.
  const size = shown.length === 1 ? 19 : 15;
  const picture =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">` +
    `<rect width="32" height="32" rx="8" fill="#3b5bdb"/>` +
    `<path d="M4 20L9.500 8.500 15 20M6.300 16h6.400" fill="none" stroke="#fff" stroke-width="2.200" stroke-linecap="round"/>` +
    `<circle cx="20.500" cy="20.500" r="11.500" fill="#c2410c" stroke="#fff" stroke-width="1.500"/>` +
    `<text x="20.500" y="${20.5 + size * 0.36}" font-family="system-ui,sans-serif" font-size="${size}" font-weight="700" ` +
    `text-anchor="middle" fill="#fff">${shown}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(picture)}`;
}
