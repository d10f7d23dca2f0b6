// Makes a text field as high as its text, up to what its style allows.

export function grow(place: HTMLTextAreaElement): void {
  place.style.height = "auto";
  place.style.height = `${place.scrollHeight}px`;
}
