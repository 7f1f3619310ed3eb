import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Group,
  type InterleavedBufferAttribute,
  LineBasicMaterial,
  LineSegments,
} from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import type { ShownRoute } from "../view.ts";

/** Thin lines between nodes, drawn in one call. */
export class Mesh {
  readonly object: LineSegments<BufferGeometry, LineBasicMaterial>;
  #room = 0;

  constructor(colour: string, opacity: number) {
    this.object = new LineSegments(
      new BufferGeometry(),
      new LineBasicMaterial({ color: colour, transparent: true, opacity, depthWrite: false }),
    );
    this.object.frustumCulled = false;
  }

  /** Draws a line for each pair of nodes. */
  draw(xyz: Float32Array, pairs: Uint32Array): void {
    const { geometry } = this.object;
    if (pairs.length > this.#room) {
      this.#room = Math.ceil(pairs.length * 1.5);
      geometry.dispose();
      geometry.setAttribute(
        "position",
        new BufferAttribute(new Float32Array(this.#room * 3), 3).setUsage(DynamicDrawUsage),
      );
    }
    this.object.visible = pairs.length > 0;
    if (pairs.length === 0) return;
    const attribute = geometry.getAttribute("position") as BufferAttribute;
    const array = attribute.array as Float32Array;
    for (let i = 0, j = 0; i < pairs.length; i++) {
      const at = pairs[i]! * 3;
      array[j++] = xyz[at]!;
      array[j++] = xyz[at + 1]!;
      array[j++] = xyz[at + 2]!;
    }
    attribute.needsUpdate = true;
    geometry.setDrawRange(0, pairs.length);
  }

  dispose(): void {
    this.object.geometry.dispose();
    this.object.material.dispose();
  }
}

/** Routes of flows as lines of a width in pixels, with a glow or without. */
export class Ribbons {
  readonly object = new Group();
  readonly #materials: LineMaterial[];
  #geometry = new LineSegmentsGeometry();
  #room = 0;

  /** One line on the other for each width and opacity. */
  constructor(layers: { width: number; opacity: number }[]) {
    this.#materials = layers.map(
      ({ width, opacity }) =>
        new LineMaterial({
          linewidth: width,
          opacity,
          transparent: true,
          vertexColors: true,
          depthWrite: false,
        }),
    );
  }

  #grow(links: number): void {
    this.#room = Math.max(32, links * 2);
    this.#geometry.dispose();
    this.#geometry = new LineSegmentsGeometry();
    this.#geometry.setPositions(new Float32Array(this.#room * 6));
    this.#geometry.setColors(new Float32Array(this.#room * 6));
    this.object.clear();
    for (const material of this.#materials) {
      const line = new LineSegments2(this.#geometry, material);
      line.frustumCulled = false;
      this.object.add(line);
    }
  }

  /** Draws the links of some routes. */
  draw(xyz: Float32Array, routes: ShownRoute[]): void {
    const links = routes.reduce((sum, w) => sum + Math.max(0, w.nodes.length - 1), 0);
    this.object.visible = links > 0;
    if (links === 0) return;
    if (links > this.#room) this.#grow(links);
    const positions = (this.#geometry.getAttribute("instanceStart") as InterleavedBufferAttribute)
      .data;
    const colours = (
      this.#geometry.getAttribute("instanceColorStart") as InterleavedBufferAttribute
    ).data;
    const colour = new Color();
    let at = 0;
    for (const { nodes, colour: text } of routes) {
      colour.setStyle(text);
      for (let i = 1; i < nodes.length; i++) {
        for (const n of [nodes[i - 1]!, nodes[i]!]) {
          positions.array.set(xyz.subarray(n * 3, n * 3 + 3), at);
          colour.toArray(colours.array, at);
          at += 3;
        }
      }
    }
    positions.needsUpdate = true;
    colours.needsUpdate = true;
    this.#geometry.instanceCount = links;
  }

  dispose(): void {
    this.#geometry.dispose();
    for (const material of this.#materials) material.dispose();
  }
}
