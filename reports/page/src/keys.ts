// The keys of a focused chart or timeline.

export type Action =
  | "left"
  | "right"
  | "panLeft"
  | "panRight"
  | "up"
  | "down"
  | "first"
  | "last"
  | "in"
  | "out"
  | "reset";

const kActions: Record<string, Action> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
  "+": "in",
  "=": "in",
  "-": "out",
  _: "out",
  "0": "reset",
  Escape: "reset",
};

/// Null for all other keys, and for the browser's own.
export function actionOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.shiftKey && event.key === "ArrowLeft") return "panLeft";
  if (event.shiftKey && event.key === "ArrowRight") return "panRight";
  return kActions[event.key] ?? null;
}
