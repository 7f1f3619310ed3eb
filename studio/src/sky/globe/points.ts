import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Points,
  ShaderMaterial,
} from "three";

const VERTEX = `
attribute vec3 tint;
attribute float size;
uniform float scale;
varying vec3 vTint;
void main() {
  vTint = tint;
  vec4 at = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * at;
  gl_PointSize = size * scale * clamp(320.0 / -at.z, 0.7, 2.0);
}`;

const FRAGMENT = `
varying vec3 vTint;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  float cover = 1.0 - smoothstep(0.7, 1.0, r);
  if (cover < 0.02) discard;
  gl_FragColor = vec4(vTint, cover);
}`;

/** Round points of a size in pixels, drawn in one call. */
export class Dots {
  readonly object: Points<BufferGeometry, ShaderMaterial>;
  readonly #position: BufferAttribute;
  readonly #size: BufferAttribute;

  constructor(colours: string[], sizes: number[], ratio: number) {
    const n = colours.length;
    const tint = new Float32Array(n * 3);
    const colour = new Color();
    // The shader writes colours as they are given, so they are converted here.
    colours.forEach((text, i) =>
      colour
        .setStyle(text)
        .convertLinearToSRGB()
        .toArray(tint, i * 3),
    );
    this.#position = new BufferAttribute(new Float32Array(n * 3), 3).setUsage(DynamicDrawUsage);
    this.#size = new BufferAttribute(Float32Array.from(sizes), 1);
    const geometry = new BufferGeometry()
      .setAttribute("position", this.#position)
      .setAttribute("tint", new BufferAttribute(tint, 3))
      .setAttribute("size", this.#size);
    this.object = new Points(
      geometry,
      new ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        transparent: true,
        depthWrite: false,
        uniforms: { scale: { value: ratio } },
      }),
    );
    this.object.frustumCulled = false;
  }

  /** Moves all points; positions beyond the number of points are left out. */
  move(xyz: Float32Array): void {
    const array = this.#position.array as Float32Array;
    array.set(xyz.length > array.length ? xyz.subarray(0, array.length) : xyz);
    this.#position.needsUpdate = true;
  }

  dispose(): void {
    this.object.geometry.dispose();
    this.object.material.dispose();
  }
}
