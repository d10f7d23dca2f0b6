// What is being written in a chat: kept as it is typed, until it is safe in the outbox; put back where it cannot be sent.

import { useEffect, useRef, useState } from "preact/hooks";
import { draft as kept } from "../state/kept";
import { outbox, post, takeBack, type Picture, type Posting } from "../state/outbox";
import { myName } from "../state/session";
import { Shelf } from "../state/shelf";
import { tell } from "../state/toasts";

const shelf = new Shelf<{ key: string; pictures: Picture[] }>("pictures");

export interface Draft {
  text: string;
  pictures: readonly Picture[];
  write: (text: string) => void;
  change: (by: (pictures: readonly Picture[]) => readonly Picture[]) => void;
  /** Sends it, and begins an empty one. Returns whether there was something to send. */
  send: (world: string) => boolean;
  /** Puts a message that was not sent where it was, before what was written since. */
  putBack: (posting: Posting) => void;
}

export function useDraft(chat: string): Draft {
  const [who] = useState(myName);
  const shelved = `${who} ${chat}`;
  const [text, setText] = useState(() => begin(who, chat));
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  // What holds at this moment, also before it is drawn: a second key press must not send the same again.
  const now = useRef({ text, pictures });
  const write = (next: string) => {
    now.current.text = next;
    setText(next);
    kept.write(who, chat, next);
  };
  const show = (next: readonly Picture[]) => {
    now.current.pictures = next;
    setPictures(next);
  };
  const change: Draft["change"] = (by) => {
    show(by(now.current.pictures));
    void keepPictures(shelved, now.current.pictures);
  };
  const send = (world: string) => {
    const { text: said, pictures: with_ } = now.current;
    if (said.trim() === "" && with_.length === 0) return false;
    now.current.text = "";
    setText("");
    show([]);
    // What is kept of the draft goes when the message is safe, and not before.
    void post(world, chat, said, [...with_]).then(() => {
      kept.write(who, chat, now.current.text);
      void keepPictures(shelved, now.current.pictures);
    });
    return true;
  };
  const putBack = ({ key, text: said, pictures: with_ }: Posting) => {
    const since = now.current.text;
    write(said && since ? `${said}\n${since}` : said || since);
    change((known) => [...with_, ...known]);
    takeBack(key);
  };
  useEffect(() => {
    let isOver = false;
    void shelf.get(shelved).then((found) => {
      const known = new Set(onTheWay(chat).flatMap((one) => one.pictures.map((picture) => picture.id)));
      const rest = found?.pictures.filter((picture) => !known.has(picture.id)) ?? [];
      if (!isOver && rest.length > 0) show([...rest, ...now.current.pictures]);
    });
    return () => {
      isOver = true;
    };
  }, []);
  const refused = outbox.value.filter((one) => one.posting.chat === chat && one.state === "refused");
  useEffect(() => {
    for (const one of refused) {
      putBack(one.posting);
      tell(`Not sent: ${one.problem ?? ""}`, "bad");
    }
  }, [refused.length]);
  return { text, pictures, write, change, send, putBack };
}

const onTheWay = (chat: string) =>
  outbox
    .peek()
    .map((one) => one.posting)
    .filter((posting) => posting.chat === chat);

/** What was written last; unless it is on its way, and only not safe yet. */
function begin(who: string, chat: string): string {
  const text = kept.read(who, chat);
  return onTheWay(chat).some((posting) => posting.text === text) ? "" : text;
}

async function keepPictures(key: string, pictures: readonly Picture[]): Promise<void> {
  if (pictures.length === 0) await shelf.remove(key);
  else await shelf.put({ key, pictures: [...pictures] });
}
