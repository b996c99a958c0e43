import { make } from "./dom";

/// Gives a file to the reader's browser, with a name of letters, digits and dashes.
export function saveFile(name: string, type: string, content: BlobPart): void {
  const [, stem = "", ending = ""] = /^(.*)\.(\w+)$/s.exec(name) ?? [];
  const plain = stem.toLowerCase().replace(/²/g, "2").replace(/[^a-z0-9]+/g, "-");
  const address = URL.createObjectURL(new Blob([content], { type }));
  const file = `${plain.replace(/^-|-$/g, "") || "acid"}.${ending}`;
  make("a", { href: address, download: file }).click();
  // The download keeps the data once it began.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
