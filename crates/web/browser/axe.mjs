// Asks axe whether anything keeps somebody from using what is on the screen, and whether all of it is on the screen.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");

/** What is wrong with what the page shows now. Runs axe inside the page, in spite of the page's own policy. */
export async function wrong(page, what) {
  // A colour on its way to another is not judged.
  await page.evaluate(() => {
    const passing = document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations !== Infinity);
    return Promise.allSettled(passing.map((one) => one.finished));
  });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const cut = await page.evaluate(cutOff);
  return [
    ...violations.map(({ id, nodes }) => {
      const shown = nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
      return `${what}: ${id}: ${shown.join(" | ")}`;
    }),
    ...cut.map((one) => `${what}: cannot be reached: ${one}`),
    ...(wider > 0 ? [`${what} is ${wider} pixels too wide`] : []),
  ];
}

/** What can be used and begins left of the place it is shown in: nobody scrolls there. Runs in the page. */
function cutOff() {
  const clips = (one) => getComputedStyle(one).overflowX !== "visible";
  const found = [];
  for (const one of document.querySelectorAll("a, button, input, select, textarea")) {
    const box = one.getBoundingClientRect();
    if (box.width <= 1 || !one.checkVisibility({ visibilityProperty: true })) continue;
    let around = one.parentElement;
    while (around && !clips(around)) around = around.parentElement;
    if (around && around.scrollLeft === 0 && box.left < around.getBoundingClientRect().left - 1)
      found.push(one.outerHTML.slice(0, 160));
  }
  return found;
}

export async function check(page, what) {
  assert.deepEqual(await wrong(page, what), []);
}
