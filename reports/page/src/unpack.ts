// Unpacks parts of the page: base64 of a zlib stream in an inert element (reports/html/sweep.cpp).

export async function unpack(element: Element): Promise<string> {
  const packed = atob((element.textContent ?? "").trim());
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/// HTML that acid wrote, as elements. Script in it would not run: the page's policy forbids it.
export function parsed(html: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = html;
  return document.importNode(template.content, true);
}

/// Folds whose body is packed: unpacked when first opened.
export function unpackFolds(root: ParentNode, unpacked: () => void): void {
  for (const packed of root.querySelectorAll("script[data-packed]")) {
    const fold = packed.closest("details");
    if (!fold || fold.dataset["watched"]) continue;
    fold.dataset["watched"] = "";
    const open = async () => {
      if (!fold.open || !packed.isConnected) return;
      const html = await unpack(packed);
      if (!packed.isConnected) return;
      packed.replaceWith(parsed(html));
      unpacked();
    };
    fold.addEventListener("toggle", () => void open());
    void open();
  }
}
