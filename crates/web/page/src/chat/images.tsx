// Images and files of a message. Only what is part of the message itself is shown: nothing is loaded from elsewhere.

import type { Part } from "../api/types";
import { Icon } from "../ui/icons";

export function Images({ parts }: { parts: readonly Part[] }) {
  if (parts.length === 0) return null;
  return (
    <div class="images">
      {parts.map((part, index) => (
        <One key={index} part={part} />
      ))}
    </div>
  );
}

function One({ part }: { part: Part }) {
  if (part.type === "input_image") {
    const url = part.image_url ?? "";
    if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(url)) return <img src={url} alt="Image of the message" />;
    return (
      <span class="attachment">
        <Icon name="image" /> Image: {url.slice(0, 200) || part.file_id}
      </span>
    );
  }
  if (part.type === "input_file") {
    return (
      <span class="attachment">
        <Icon name="file" /> {part.filename ?? part.file_url ?? "File"}
      </span>
    );
  }
  return null;
}
