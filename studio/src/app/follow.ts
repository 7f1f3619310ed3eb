/** Follows runs until they have ended. */
import { type Api, isActive, type RunState } from "./api.ts";

/** Time between two requests for the states of runs that have not ended. */
const FOLLOW_MS = 40;
/** The same once they take long: the longer they take, the less changes. */
const SLOW_MS = 250;
/** Time after which runs take long. */
const LONG_MS = 3000;
/** Time that a run may take while the slider that began it has moved on. */
const PATIENCE_MS = 300;

/** What comes of it. */
export interface FollowEvents {
  /** The states of the runs. */
  changed(runs: RunState[]): Promise<void>;
  guard(work: () => Promise<void>): Promise<void>;
}

/** What follows the runs. */
export class Follower {
  readonly #api: Api;
  readonly #events: FollowEvents;
  #isFollowing = false;
  /** Whether a run has begun since the last look. */
  #isBehind = false;
  #runs: RunState[] = [];

  constructor(api: Api, events: FollowEvents) {
    this.#api = api;
    this.#events = events;
  }

  /** Looks at the runs, and again until all have ended. */
  async follow(): Promise<void> {
    this.#isBehind = true;
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    const begun = performance.now();
    await this.#events.guard(async () => {
      for (;;) {
        this.#isBehind = false;
        this.#runs = await this.#api.runs();
        await this.#events.changed(this.#runs);
        if (this.#isBehind) continue;
        if (!this.#runs.some(isActive)) return;
        await pause(performance.now() - begun > LONG_MS ? SLOW_MS : FOLLOW_MS);
      }
    });
    this.#isFollowing = false;
  }

  /**
   * Waits for a run, so that a moving slider shows answers on its way; but not for long if the
   * slider has moved on.
   */
  async answered(id: number, moved: () => number): Promise<void> {
    const [begun, moves] = [performance.now(), moved()];
    do await pause(FOLLOW_MS / 2);
    while (
      (moves === moved() || performance.now() < begun + PATIENCE_MS) &&
      this.#isFollowing &&
      this.#runs.some((one) => one.id === id && isActive(one))
    );
  }
}

const pause = (time: number): Promise<void> => new Promise((done) => setTimeout(done, time));
