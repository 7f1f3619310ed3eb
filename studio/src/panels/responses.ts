import { SERIES } from "../data/names.ts";
import { perFlow } from "./lines.ts";
import { BASE, layersOf, marksOf, type Panel, reference } from "./panel.ts";

const TITLE = "Response time";

/** How long each request took until its answer was complete, at the time of the answer. */
export const responses: Panel = {
  flowSeries: [SERIES.responseTime],
  ofFlow: (view) => [
    {
      ...BASE,
      marks: marksOf(view),
      id: "responses",
      title: TITLE,
      unit: "ms",
      layers: layersOf(
        [
          {
            key: SERIES.responseTime,
            name: "answers",
            title: "Time from a request until its answer was complete",
            style: "dots",
            role: "rtt",
          },
        ],
        view,
      ),
      references: reference("path with empty queues", view.path?.rtt_ms),
      howto:
        "Each dot is an answer. The height above the dotted line is what the request and its " +
        "answer waited: in queues, for the sender's window, for packets that were sent again.",
    },
  ],
  ofFlows: (view) => [
    {
      ...BASE,
      id: "responses",
      title: TITLE,
      unit: "ms",
      layers: perFlow(view, SERIES.responseTime, TITLE, { style: "dots" }),
      howto:
        "Each dot is an answer to one request. Where dots of a flow rise together, the others " +
        "fill a queue that it shares.",
    },
  ],
};
