import { type BarRow, barRows, causeLegend } from "../charts/static/bar-rows.ts";
import { METRIC, metricOf } from "../data/metrics.ts";
import type { Explanation } from "../data/report.types.ts";
import type { AccountDocument, TracePage } from "../data/trace.types.ts";
import { bytes, ms, percent, plural } from "../format/numbers.ts";
import { type Child, h, withCode } from "../page/dom.ts";
import { capital, change, rateWords, saving, time } from "./words.ts";

const explanation = (of: AccountDocument): Explanation =>
  ({ completion_s: of.completion_s, parts: of.time_budget, text: of.text }) as Explanation;

/** The bars: of the transfer as it was recorded and, if that is known, as Bentpipe's. */
function rows({ trace }: TracePage): BarRow[] {
  const { prediction, transfers } = trace;
  const shown = prediction ? transfers : transfers.slice(0, 1);
  const range = prediction && `${time(prediction.low_s)} to ${time(prediction.high_s)}`;
  return shown.map((of, i): BarRow => {
    return {
      name: i === 0 ? "This transfer" : "Bentpipe",
      index: null,
      differs: i === 0 ? "as recorded" : "same path, one transfer",
      measured: of.completion_s,
      value: time(of.completion_s),
      below: i === 0 ? bytes(trace.bytes) : range,
      of: explanation(of),
      published: [],
      failure: null,
    };
  });
}

function budget(page: TracePage): HTMLElement {
  const all = rows(page);
  return h(
    "figure",
    { class: "card budgets", "data-cause": "" },
    h("figcaption", {}, h("h3", {}, "Where the time went")),
    h(
      "div",
      { class: "bar-stage" },
      causeLegend(all.map((row) => row.of!)),
      barRows(all, { metric: metricOf(METRIC.completion), time: true }),
    ),
    h(
      "div",
      { class: "budgets-foot" },
      h(
        "details",
        { class: "in-words" },
        h("summary", {}, "In words"),
        h("p", {}, `The transfer ${page.trace.transfers[0]?.text ?? ""}.`),
        h(
          "p",
          { class: "howto" },
          "Parts exclude each other and add up to the time. Grey parts are what every transfer " +
            "needs on this path; coloured parts are what made it slower. Point at one for its " +
            "meaning.",
        ),
      ),
    ),
  );
}

const fact = (name: string, value: Child, below: Child = null): Child =>
  h("div", {}, h("dt", {}, name), h("dd", {}, value, below && h("small", {}, below)));

/** Losses by place, as far as the file shows that. */
function lossWords({ trace }: TracePage): [string, string] {
  const { packets, at_a_full_queue: full, episodes } = trace.losses;
  if (packets === 0) return ["none seen", ""];
  const rest = packets - full;
  const places = trace.recorded_by === "receiver" ? "" : `${full} at a full queue, ${rest} not; `;
  return [plural(packets, "packet"), `${places}${plural(episodes, "episode")}`];
}

/** The path, and how much is known of it. */
function pathCard(page: TracePage): HTMLElement {
  const { trace, is_encrypted } = page;
  const { path, both_ends: both, pauses } = trace;
  const [rate, known] = rateWords(path);
  const [lost, places] = is_encrypted ? ["not seen", "the packets are encrypted"] : lossWords(page);
  const queue = path.queue_ms > 0 ? `up to ${ms(path.queue_ms)}` : "none seen";
  const seen = trace.recorded_by === "both" ? "both ends" : `its ${trace.recorded_by}`;
  const way = (end: string, one: { packets: number; lost: number; longest_wait_ms: number }) =>
    fact(
      `To the ${end}`,
      `${one.lost} of ${one.packets} lost`,
      `waits up to ${ms(one.longest_wait_ms)}`,
    );
  // Shorter ones are of no interest.
  const all = pauses.sender_s + pauses.receiver_s;
  const pause = all >= 0.01 * (trace.transfers[0]?.completion_s ?? 0) ? all : 0;
  return h(
    "figure",
    { class: "card path-facts" },
    h("figcaption", {}, h("h3", {}, "The path, as this file shows it")),
    h(
      "dl",
      { class: "grid-facts" },
      fact("RTT", ms(path.rtt_ms), "without a queue"),
      fact("Rate", rate, known),
      fact("Queue", queue, path.queue_is_full ? "and full" : ""),
      both
        ? [way(page.receiver, both.to_receiver), way(page.sender, both.to_sender)]
        : fact("Losses", lost, places),
      path.loss > 0 && fact("Lost by chance", percent(path.loss), "while the queue was not full"),
      pause > 0 &&
        fact(
          "Pauses",
          time(pause),
          pauses.sender_s >= pauses.receiver_s
            ? `most of the ${page.sender}`
            : `most of the ${page.receiver}`,
        ),
      fact("Recorded by", seen, both ? `clocks ${Math.round(both.drift_ppm)} ppm apart` : ""),
    ),
  );
}

/** What would help most; nothing if that is not known. */
function help({ trace }: TracePage): Child {
  const [first] = trace.remedies;
  if (!first) return null;
  return ["What would help: ", withCode(change(first)), "; ", h("strong", {}, saving(first)), "."];
}

/** The first screen: why it took its time, what would help, and the path. */
export function answerSection(page: TracePage): HTMLElement {
  const { trace } = page;
  const [cause, ...shown] = page.answer.split(": ");
  const what = `${trace.direction} of ${bytes(trace.bytes)} over ${page.protocol}`;
  const requests = page.requests > 1 ? ` in ${plural(page.requests, "request")}` : "";
  const title = page.title && page.title !== page.file ? ` · ${page.title}` : "";
  const because = shown.join(": ");
  return h(
    "div",
    { class: "answer-section", id: "answer" },
    h(
      "header",
      { class: "answer-head trace" },
      h("h1", { class: "kicker" }, page.file),
      h("p", { class: "kicker-more" }, `${what}${requests}${title}`),
      h("h2", { class: "answer" }, cause!, "."),
      because && h("p", { class: "more" }, capital(because), "."),
      h("p", { class: "more help" }, help(page)),
    ),
    h("div", { class: "figures two" }, budget(page), pathCard(page)),
  );
}
