/**
 * Replaces dependencies of three-globe that this page never calls (heat maps on WebGPU, hexagonal
 * bins), which would be a third of the script.
 */
export class WebGPURenderer {}
export class StorageInstancedBufferAttribute {}

function absent(): never {
  throw new Error("this layer of the globe is not a part of this page");
}

export {
  absent as latLngToCell,
  absent as cellToLatLng,
  absent as cellToBoundary,
  absent as polygonToCells,
  absent as Fn,
  absent as If,
  absent as Loop,
  absent as uniform,
  absent as storage,
  absent as float,
  absent as instanceIndex,
  absent as sqrt,
  absent as sin,
  absent as cos,
  absent as asin,
  absent as exp,
  absent as negate,
};
