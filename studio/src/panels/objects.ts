import { heightOf, waterfallOf } from "../charts/time/waterfall.ts";
import { BASE, namedMarks, type Panel } from "./panel.ts";

/** Height of the time axis, in CSS pixels. */
const AXIS = 36;

/** The objects of a visit as a waterfall, if it had several. */
export const objects: Panel = {
  ofFlow: ({ flow, result }) => {
    const waterfall = result ? waterfallOf(result.objects, flow.start_s) : null;
    if (!waterfall) return [];
    const marks = namedMarks(flow);
    return [
      {
        ...BASE,
        marks,
        labels: marks.length > 0,
        height: heightOf(waterfall.rows.length) + AXIS,
        id: "objects",
        title: "Objects",
        unit: "",
        layers: [],
        waterfall,
        howto:
          "Each bar is an object, from its request until it is complete, in the order of " +
          "requests; point at one for its size and times. A bar of one round trip is all waiting " +
          "and hardly any data. A staircase means that the client waits before it requests more: " +
          "for a free connection, or for the object that names the next ones. Bars that begin " +
          "together and end one after the other share a connection. The list of objects above " +
          "has the same numbers.",
      },
    ];
  },
};
