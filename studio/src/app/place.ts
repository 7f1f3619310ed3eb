/** What a page is to open: a file, and perhaps a text of it that was not saved elsewhere. */
export interface Place {
  file: string;
  text: string | null;
}

/** Reads the fragment of the page's address. */
export function readPlace(hash: string): Place {
  const [file = "", text] = hash.replace(/^#/, "").split("&text=", 2);
  try {
    return {
      file: decodeURIComponent(file),
      text: text === undefined ? null : decodeURIComponent(text),
    };
  } catch {
    return { file: "", text: null };
  }
}

/** The fragment that `readPlace` reads. */
export const placeHash = ({ file, text }: Place): string =>
  `#${encodeURIComponent(file)}${text === null ? "" : `&text=${encodeURIComponent(text)}`}`;
