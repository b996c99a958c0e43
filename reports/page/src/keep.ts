// The reader's settings in a page, kept while parts of it are replaced by newer ones.

export interface Kept {
  checked: string[];
  folds: Map<string, boolean>;
  focus: () => void;
  scroll: () => void;
}

/// A fold's section, heading and number among those of the same name.
export function foldKeys(folds: { section: string; summary: string }[]): string[] {
  const counts = new Map<string, number>();
  return folds.map(({ section, summary }) => {
    const name = `${section}/${summary}`;
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return `${name}/${count}`;
  });
}

function foldsOf(root: ParentNode): [string, HTMLDetailsElement][] {
  const folds = [...root.querySelectorAll("details")];
  const keys = foldKeys(
    folds.map((fold) => ({
      section: fold.closest("section[id]")?.id ?? "",
      summary: fold.querySelector("summary")?.textContent ?? "",
    })),
  );
  return folds.map((fold, k) => [keys[k] ?? "", fold]);
}

/// Finds the successor of the focused element.
function refocus(): () => void {
  const before = document.activeElement;
  if (!(before instanceof HTMLElement) || before === document.body) return () => {};
  const fold = before.closest("details");
  const foldKey = foldsOf(document).find(([, candidate]) => candidate === fold)?.[0];
  const label = before.getAttribute("aria-label");
  return () => {
    if (document.activeElement === before) return;
    let next: HTMLElement | null | undefined = before.isConnected ? before : null;
    if (!next && before.id) next = document.getElementById(before.id);
    if (!next && label)
      next = document.querySelector<HTMLElement>(`button[aria-label="${CSS.escape(label)}"]`);
    if (!next && before.tagName === "SUMMARY")
      next = foldsOf(document)
        .find(([key]) => key === foldKey)?.[1]
        .querySelector("summary");
    next?.focus({ preventScroll: true });
  };
}

/// Keeps what the reader looks at in its place: a chart, which survives, or the top of a section.
function anchor(): () => void {
  const seen = [...document.querySelectorAll<HTMLElement>("figure.plot, main > section[id]")]
    .map((element) => ({
      element,
      top: element.getBoundingClientRect().top,
      height: element.getBoundingClientRect().height,
    }))
    .filter(({ top, height }) => height > 0 && top < innerHeight && top + height > 0);
  const held = seen[seen.length - 1];
  if (!held) return () => {};
  return () => {
    const now = held.element.isConnected ? held.element : document.getElementById(held.element.id);
    if (now) scrollBy(0, now.getBoundingClientRect().top - held.top);
  };
}

export function keep(): Kept {
  return {
    checked: [...document.querySelectorAll<HTMLInputElement>("input.pick:checked")].map(
      ({ id }) => id,
    ),
    folds: new Map(foldsOf(document).map(([key, fold]) => [key, fold.open])),
    focus: refocus(),
    scroll: anchor(),
  };
}

/// Called right after the new parts are in, before anything is drawn into them.
export function restoreForm(kept: Kept): void {
  for (const id of kept.checked) {
    const pick = document.getElementById(id);
    if (pick instanceof HTMLInputElement) pick.checked = true;
  }
}

/// Called after the page's own code has drawn.
export function restoreView(kept: Kept): void {
  for (const [key, fold] of foldsOf(document)) {
    const open = kept.folds.get(key);
    if (open !== undefined && open !== fold.open) fold.open = open;
  }
  kept.focus();
  kept.scroll();
}
