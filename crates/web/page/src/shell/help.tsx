// The keys there are.

import { signal } from "@preact/signals";
import { Dialog } from "../ui/dialog";

export const helpIsOpen = signal(false);

const KEYS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl K", "go to a chat or a view"],
      ["I", "to what waits for you"],
      ["/", "write a message"],
      ["?", "this list"],
    ],
  ],
  [
    "Writing",
    [
      ["Enter", "send"],
      ["Shift Enter", "a new line"],
      ["@", "address an agent"],
    ],
  ],
  [
    "On a request that has the focus",
    [
      ["O", "approve once"],
      ["S", "approve for this chat, and choose for which calls"],
      ["A", "approve always, and choose for which calls"],
      ["E", "edit the arguments"],
      ["D", "deny, and say why"],
      ["J K", "next and previous"],
      ["Esc", "go back"],
    ],
  ],
];

export function Help() {
  if (!helpIsOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (helpIsOpen.value = false)}>
      {KEYS.map(([title, keys]) => (
        <section key={title} class="keys">
          <h3>{title}</h3>
          <dl>
            {keys.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  {key.split(" ").map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p class="soft small-text">
        A request takes answers only a moment after it appeared, moved or got the focus, and a letter answers only when
        no other follows at once: what was meant for something else decides nothing. Esc takes a letter back.
      </p>
    </Dialog>
  );
}
