// A page that `acid watch --html` serves asks for newer versions of itself while runs go on.
import { readPageData, type PageData } from "./data";
import { keep, restoreForm, restoreView } from "./keep";
import { replaceParts, sourcesOf, type Sources } from "./parts";

const kIntervalMilliseconds = 2000;
/// Parts of the body beside its main one, each replaced as a whole.
const kEnds = ["header", "footer"];

/// The status line when the server does not answer.
export function lostText(status: number | null, since: string): string {
  if (status === 401 || status === 403)
    return "This page may no longer ask for news: open the address that acid watch prints.";
  return `Connection lost since ${since}; this is the last known state. Trying again.`;
}

class Refused extends Error {
  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

async function text(address: string): Promise<string> {
  const response = await fetch(address, { credentials: "same-origin", cache: "no-store" });
  if (!response.ok) throw new Refused(response.status);
  return response.text();
}

export class Live {
  private readonly status = document.getElementById("live-status");
  private serverStatus = this.status?.textContent ?? "";
  private version: string | null = null;
  private lostSince: string | null = null;
  private main: Sources;
  private readonly ends = new Map<string, string>();

  /// Made before anything is drawn into the page. `refresh` gets newer data after the page's parts
  /// have been replaced.
  constructor(private readonly refresh: (data: PageData) => void) {
    this.main = sourcesOf(document.querySelector("main"));
    for (const tag of kEnds)
      this.ends.set(tag, document.querySelector(`body > ${tag}`)?.outerHTML ?? "");
    document.documentElement.style.setProperty("overflow-anchor", "none");
    this.again();
  }

  private again(): void {
    setTimeout(() => void this.ask(), kIntervalMilliseconds);
  }

  private async ask(): Promise<void> {
    let goesOn = true;
    try {
      if (!document.hidden) goesOn = await this.update();
    } catch (error) {
      this.lostSince ??= new Date().toLocaleTimeString();
      this.say(lostText(error instanceof Refused ? error.status : null, this.lostSince));
    }
    if (goesOn) this.again();
  }

  /// Returns false once the runs have ended and the page is final.
  private async update(): Promise<boolean> {
    const version = await text("version");
    if (version !== this.version) {
      const newer = new DOMParser().parseFromString(await text("./"), "text/html");
      const data = readPageData(newer);
      this.show(newer, data);
      this.version = version;
      if (!data.live) return false;
    }
    this.lostSince = null;
    this.say(this.serverStatus);
    return true;
  }

  private show(newer: Document, data: PageData): void {
    const kept = keep();
    document.title = newer.title;
    this.serverStatus = newer.getElementById("live-status")?.textContent ?? "";
    this.replace(newer);
    restoreForm(kept);
    this.refresh(data);
    restoreView(kept);
    this.say(this.serverStatus);
  }

  private replace(newer: Document): void {
    const [main, newerMain] = [document.querySelector("main"), newer.querySelector("main")];
    if (main && newerMain) this.main = replaceParts(main, newerMain, this.main);
    for (const tag of kEnds) {
      const [old, next] = [
        document.querySelector(`body > ${tag}`),
        newer.querySelector(`body > ${tag}`),
      ];
      if (!old || !next || next.outerHTML === this.ends.get(tag)) continue;
      this.ends.set(tag, next.outerHTML);
      old.replaceWith(document.adoptNode(next));
    }
    // The status line stays the same element, or screen readers would not hear it change.
    const status = document.getElementById("live-status");
    if (status && this.status && status !== this.status) status.replaceWith(this.status);
    const [block, newerBlock] = [
      document.getElementById("acid-data"),
      newer.getElementById("acid-data"),
    ];
    if (block && newerBlock) block.textContent = newerBlock.textContent;
  }

  private say(words: string): void {
    if (this.status && this.status.textContent !== words) this.status.textContent = words;
  }
}
