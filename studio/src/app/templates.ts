/** Scenarios to start from, one for each kind of question. */

/** A scenario to start from. */
export interface Template {
  /** Its name in files, which also chooses what is drawn on its card. */
  key: "download" | "resume" | "leo" | "share" | "users" | "video" | "upload" | "sweep" | "loss";
  title: string;
  /** The question that it answers. */
  question: string;
  /** Everything below the name. */
  text: string;
}

const TWO = `[[variant]]
name = "cubic"
congestion = "cubic"

[[variant]]
name = "bbr3"
congestion = "bbr3"
`;

/** All of them, in the order in which they are offered. */
export const TEMPLATES: readonly Template[] = [
  {
    key: "download",
    title: "One download over GEO",
    question: "What does slow start cost?",
    text: `[path]
profile = "geo-50-10"

[workload]
download = "2 MB"

[[variant]]
name = "standard"
slow_start = "standard"

[[variant]]
name = "auto"
`,
  },
  {
    key: "resume",
    title: "A second visit",
    question: "What does it gain to remember the path?",
    text: `[path]
profile = "geo-50-10"

[workload]
visits = [{ download = "5 MB", handshake = "1rtt" }, { download = "5 MB", idle_before = "2 s" }]

[defaults]
handshake = "0rtt"

[[variant]]
name = "without"
resume = "none"

[[variant]]
name = "careful"
resume = "careful"
`,
  },
  {
    key: "leo",
    title: "Over moving satellites",
    question: "What do handovers do to a transfer?",
    text: `[path.orbit]
constellation = "iridium"
links.all = { rate = "10 Mbps" }

[workload]
from = "London"
to = "New York"
download = "10 MB"

${TWO}`,
  },
  {
    key: "share",
    title: "Two flows, one bottleneck",
    question: "Do they share it evenly?",
    text: `[path]
profile = "geo-10-2"

[[flow]]
name = "first"
download = "20 MB"

[[flow]]
name = "second"
start_time = "6 s"
download = "5 MB"

${TWO}`,
  },
  {
    key: "users",
    title: "Many users behind a beam",
    question: "How long do their downloads take?",
    text: `repeat = 3

[path]
profile = "geo-50-10"

[[flow]]
name = "users"
count = 40
arrivals = { load = 0.6 }
download = { lognormal = { median = "300 kB", sigma = 1.2, max = "5 MB" } }

[[variant]]
name = "plain"
preset = "rfc"

[[variant]]
name = "defaults"
`,
  },
  {
    key: "video",
    title: "A video",
    question: "Does it stall?",
    text: `[path]
profile = "geo-50-10"

[[flow]]
name = "video"
video = { segment = "2 MB", interval = "4 s", segments = 20 }

[[flow]]
name = "download"
download = "60 MB"
start_time = "20 s"

${TWO}`,
  },
  {
    key: "upload",
    title: "An upload",
    question: "How long does the way up take?",
    text: `[path]
profile = "geo-50-10"

[workload]
upload = "2 MB"

${TWO}`,
  },
  {
    key: "sweep",
    title: "A sweep of the round-trip time",
    question: "From which distance on does it matter?",
    text: `[path]
profile = "geo-50-10"

[workload]
download = "2 MB"

[sweep]
"path.rtt" = ["20 ms", "50 ms", "100 ms", "300 ms", "600 ms"]

${TWO}`,
  },
  {
    key: "loss",
    title: "Losses on the channel",
    question: "Who takes chance for congestion?",
    text: `repeat = 5

[path]
profile = "geo-50-10"
forward = { loss = 0.002 }

[workload]
download = "5 MB"

${TWO}`,
  },
];

/** A template as the text of a file. */
export function textOf(template: Template, file: string): string {
  const stem = file.slice(file.lastIndexOf("/") + 1).replace(/\.toml$/, "");
  const name = stem
    .toLowerCase()
    .replace(/[^a-z0-9.+-]/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `name = "${name || "scenario"}"\n\n${template.text}`;
}
