// The keys there are, and the way to what the server says of its API.

import { signal } from "@preact/signals";
import { Dialog } from "../ui/dialog";

export const helpIsOpen = signal(false);

const KEYS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl K", "go to a chat or a view (⌘ K on a Mac)"],
      ["I", "to what waits for you"],
      ["/", "write a message, in a chat"],
      ["?", "this list"],
      ["Esc", "close what is open: a dialog, a menu, the list of chats"],
    ],
  ],
  [
    "Writing",
    [
      ["Enter", "send"],
      ["Shift Enter", "a new line"],
      ["@", "address an agent"],
      ["↑ ↓", "another of the agents offered; Enter or Tab takes it"],
      ["Esc", "leave the message as it is, so that letters are keys again"],
    ],
  ],
  [
    "On a request that has the focus",
    [
      ["O", "approve once, or answer a question"],
      ["S", "approve for this chat, and choose for which calls"],
      ["A", "approve always, and choose for which calls"],
      ["1 2 3", "after S or A: for which calls; Enter approves"],
      ["E", "edit the arguments, or answer a question; Ctrl Enter sends it"],
      ["D", "deny, and say why; Enter denies"],
      ["J K", "next and previous request, as ↓ and ↑"],
      ["Esc", "go back to the choice, or take a letter back"],
    ],
  ],
  ["On a rule of a policy", [["Alt ↑ ↓", "move it up or down"]]],
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
      <p class="small-text">
        <a href="/docs">All calls of the API</a>, for programs that use this server
      </p>
    </Dialog>
  );
}
