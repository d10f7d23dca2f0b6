// Reads images that were pasted, dropped or chosen, within what the server takes.

import { newKey } from "../api/http";
import type { Picture } from "../state/outbox";

const KINDS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** The server takes 6 MiB of images; as text they are a third longer. */
const MOST = 4_500_000;

export async function readImages(files: Iterable<File>, known: readonly Picture[]): Promise<Picture[]> {
  const read: Picture[] = [];
  let size = known.reduce((sum, picture) => sum + picture.url.length * 0.75, 0);
  for (const file of files) {
    if (!KINDS.has(file.type))
      throw new Error(`${file.name || "That"} is not an image that can be sent: PNG, JPEG, GIF and WebP can.`);
    size += file.size;
    if (size > MOST) throw new Error("The images of one message may have 4.5 MB together.");
    const id = newKey();
    read.push({ id, name: file.name || "Pasted image", url: await asUrl(file) });
  }
  return read;
}

function asUrl(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}
