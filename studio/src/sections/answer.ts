import { baselineOf } from "../answer/comparison.ts";
import { answerOf, isOfPairs } from "../answer/index.ts";
import type { Sentence } from "../answer/words.ts";
import { flowKey, flowLabel, flowsOf } from "../data/flows.ts";
import { isShared, type Metric, metricOf } from "../data/metrics.ts";
import { flowFor, metricAfter, shownMetric } from "../data/offered.ts";
import { keyLabel, type Point, pointKey, pointsOf, valueWords } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import type { SeriesSource } from "../data/series-cache.ts";
import { isShown } from "../data/shown.ts";
import { button, type Child, h, replace, select } from "../page/dom.ts";
import type { Store } from "../page/state.ts";
import { figures } from "./answer-figures.ts";
import { chips } from "./chips.ts";
import { shownReport } from "./chosen.ts";
import { runsInWords, strips } from "./strips.ts";

/** Most values of a key, and most characters of them, that stand beside each other. */
const MOST_VALUES = 4;
const MOST_CHARACTERS = 40;

/** A sentence with its parts that are set apart. */
const sentence = (parts: Sentence): Child =>
  parts.map((p) => (typeof p === "string" ? p : h("em", { class: p.side }, p.strong)));

/** What follows the answer: why, and the rest, which a narrow screen has below the figures. */
const more = ([why, ...rest]: string[]): Child => [
  why !== undefined && h("p", { class: "more why" }, why),
  rest.length > 0 && h("p", { class: "more rest" }, rest.join(" ")),
];

/** A choice of a few words, beside each other. */
function segments(
  label: string,
  values: { value: string; text: string }[],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  return h(
    "span",
    { class: "field" },
    h("span", {}, label),
    h(
      "span",
      { class: "segments", role: "group", "aria-label": label },
      values.map((v) =>
        button(v.text, () => choose(v.value), { "aria-pressed": String(v.value === chosen) }),
      ),
    ),
  );
}

/** The first screen: what the report answers, why, and how it changes over the sweep. */
export class AnswerSection {
  readonly el = h("div", { class: "answer-section", id: "answer" });
  readonly #points: Point[];

  /** `choose` opens the trace of a run; `beside` comes after the figures. */
  constructor(
    readonly whole: Report,
    readonly store: Store,
    readonly choose: (variant: string, point: string, run: number) => void,
    readonly source: SeriesSource | null,
    readonly beside: Node | undefined,
  ) {
    this.#points = pointsOf(whole);
  }

  /** The report with the variants that the reader shows. */
  get report(): Report {
    return shownReport(this.whole, this.store.state);
  }

  draw(): void {
    const { report, store } = this;
    const { state } = store;
    const metric = metricOf(shownMetric(report, state.metric));
    const flow = flowKey(flowFor(report, metric.key, state.flow));
    const choice = { baseline: state.baseline, point: state.point };
    const answer = answerOf(report, metric, flow, choice);
    const runs = answer?.comparison?.base.group.n ?? Math.max(0, ...report.summary.map((s) => s.n));
    replace(
      this.el,
      h(
        "header",
        { class: "answer-head" },
        h(
          "div",
          {},
          h("h1", { class: "kicker" }, report.title),
          h("p", { class: "kicker-more" }, `${report.scenario} · ${runsInWords(report)}`),
          this.#shownPart(),
          h("h2", { class: "answer", id: "answer-title" }, answer && sentence(answer.sentence)),
          answer && more(answer.more),
        ),
        chips(report, runs),
      ),
      answer &&
        figures({
          report,
          store,
          answer,
          metric,
          source: this.source,
          choose: this.choose,
          controls: this.#controls(metric, flow, answer.comparison?.point ?? {}),
        }),
      this.beside,
      strips(report),
    );
  }

  /** Says that some variants are hidden, and brings them back. */
  #shownPart(): Child {
    const { variants } = this.report;
    const n = variants.filter((v) => isShown(this.report, v)).length;
    if (n === variants.length) return null;
    return h(
      "p",
      { class: "kicker-more shown-part" },
      `${n} of ${variants.length} variants shown `,
      button("Show all", () => this.store.set({ find: "", only: "" }), { class: "quiet-button" }),
    );
  }

  /** Choices of the point, the flow and the baseline. */
  #controls(metric: Metric, flow: string, shown: Point): Child {
    const { report, store } = this;
    const flows = flowsOf(report);
    const pairs = isOfPairs(report, metric);
    const baseline = baselineOf(report, store.state.baseline);
    return [
      report.variants.length > 1 &&
        !pairs &&
        report.sweep.map(({ key, values }) => this.#pointChoice(key, values, shown)),
      flows.length > 1 &&
        !isShared(metric.key) &&
        select(
          "Flow",
          flows.map((f) => ({ value: flowKey(f), text: flowLabel(report, f) })),
          flow,
          (v) => store.set({ flow: v, metric: metricAfter(report, metric.key, flow, v) }),
        ),
      report.variants.length > 1 &&
        !pairs &&
        select(
          "Against",
          report.variants.map((v) => ({ value: v, text: v })),
          baseline,
          (chosen) => store.set({ baseline: chosen === baselineOf(report, "") ? "" : chosen }),
        ),
    ];
  }

  /** A choice of the value of a swept key, with the other keys as they are. */
  #pointChoice(key: string, values: string[], shown: Point): Child {
    if (values.length < 2) return null;
    const label = keyLabel(
      key,
      this.report.sweep.map((s) => s.key),
    );
    const texts = values.map((value) => ({ value, text: valueWords(value) }));
    const choose = (value: string): void => {
      const wanted = pointKey({ ...shown, [key]: value });
      const point = this.#points.find((p) => pointKey(p) === wanted);
      if (point) this.store.set({ point: pointKey(point) });
    };
    const short = texts.reduce((n, t) => n + t.text.length, 0) <= MOST_CHARACTERS;
    const chosen = shown[key] ?? "";
    return values.length <= MOST_VALUES && short
      ? segments(label, texts, chosen, choose)
      : select(label, texts, chosen, choose);
  }
}
