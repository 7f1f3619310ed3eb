/** A function of an object that computes its value once for each object. */
export function memoised<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (of) => {
    let found = known.get(of);
    if (!found) {
      found = { value: make(of) };
      known.set(of, found);
    }
    return found.value;
  };
}
