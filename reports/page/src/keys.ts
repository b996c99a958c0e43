// The keys of a focused chart or timeline.

const kActions = {
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
} as const;
export type Action = (typeof kActions)[keyof typeof kActions] | "panLeft" | "panRight";

/// Null for all other keys, and for the browser's own.
export function actionOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.shiftKey && event.key === "ArrowLeft") return "panLeft";
  if (event.shiftKey && event.key === "ArrowRight") return "panRight";
  return (kActions as Record<string, Action>)[event.key] ?? null;
}
