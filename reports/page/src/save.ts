import { make } from "./dom";

/// A name of letters of any script, digits and dashes, before its ending.
export function fileNameOf(name: string): string {
  const [, stem = "", ending = ""] = /^(.*)\.(\w+)$/s.exec(name) ?? [];
  const plain = stem.toLowerCase().replace(/²/g, "2").replace(/[^\p{L}\p{M}\p{N}]+/gu, "-");
  return `${plain.replace(/^-|-$/g, "") || "acid"}.${ending}`;
}

/// Gives a file to the reader's browser.
export function saveFile(name: string, type: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: address, download: fileNameOf(name) }).click();
  // The download keeps the data once it began.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
