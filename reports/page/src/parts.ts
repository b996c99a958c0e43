// Replaces only the parts of a page that a newer one has changed.

/// The server's HTML of each part, before this script drew into it.
export type Sources = Map<string, string>;

export function keyOf(id: string, index: number): string {
  return id ? `#${id}` : String(index);
}

export function sourcesOf(parent: Element | null): Sources {
  return new Map(
    [...(parent?.children ?? [])].map((child, k) => [keyOf(child.id, k), child.outerHTML]),
  );
}

/// Makes the children of `parent` those of `newer`; children whose source is the same stay the same
/// elements. Returns the new sources.
export function replaceParts(parent: Element, newer: Element, sources: Sources): Sources {
  const present = new Map([...parent.children].map((child, k) => [keyOf(child.id, k), child]));
  const after = sourcesOf(newer);
  let next = parent.firstElementChild;
  [...newer.children].forEach((child, k) => {
    const key = keyOf(child.id, k);
    const old = present.get(key);
    present.delete(key);
    const part = old && sources.get(key) === after.get(key) ? old : document.adoptNode(child);
    if (part === next) next = next.nextElementSibling;
    else parent.insertBefore(part, next);
    if (old && old !== part) {
      if (old === next) next = old.nextElementSibling;
      old.remove();
    }
  });
  for (const gone of present.values()) gone.remove();
  return after;
}
