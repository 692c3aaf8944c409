/** What stands at one frame of a diagram, in order, one character each. */
export interface DiagramFrame {
  readonly frame: number;
  readonly marks: string;
}

/** Longer gaps are written as time progression. */
const LONGEST_DASHES = 12;

function cell(marks: string): string {
  return marks.length > 1 ? `(${marks})` : marks;
}

/**
 * Draws diagrams below each other so that one frame stands in one column. Spaces only align and mean
 * no time, as in `TestScheduler.run`.
 */
export function alignedDiagrams(diagrams: readonly (readonly DiagramFrame[])[]): string[] {
  const frames = [...new Set(diagrams.flatMap((one) => one.map(({ frame }) => frame)))].sort(
    (a, b) => a - b,
  );
  const texts = diagrams.map(() => '');
  /** Up to which frame each text says something. A group takes as many frames as it has characters. */
  const drawn = diagrams.map(() => 0);
  for (const frame of frames) {
    diagrams.forEach((one, row) => {
      // After its last mark a diagram says nothing about time.
      if (!one.some((candidate) => candidate.frame >= frame)) return;
      const gap = frame - (drawn[row] ?? 0);
      if (gap <= 0) return;
      const time = gap > LONGEST_DASHES ? ` ${String(gap)}ms ` : '-'.repeat(gap);
      texts[row] = (texts[row] ?? '') + time;
      drawn[row] = frame;
    });
    const width = Math.max(...texts.map((text) => text.length));
    diagrams.forEach((one, row) => {
      const marks = one.find((candidate) => candidate.frame === frame)?.marks;
      if (marks === undefined) return;
      const text = cell(marks);
      texts[row] = (texts[row] ?? '').padEnd(width) + text;
      drawn[row] = frame + text.length;
    });
  }
  return texts.map((text) => text.trimEnd());
}

/**
 * Says which frames of a diagram no text can show in their place: a group takes as many frames as it
 * has characters, and these lie inside one.
 */
export function framesInsideGroups(diagram: readonly DiagramFrame[]): string[] {
  const ordered = [...diagram].sort((a, b) => a.frame - b.frame);
  return ordered.flatMap(({ frame }) => {
    const group = ordered.find(
      (earlier) =>
        earlier.marks.length > 1 &&
        earlier.frame < frame &&
        frame < earlier.frame + cell(earlier.marks).length,
    );
    return group === undefined
      ? []
      : [
          `frame ${String(frame)} lies inside the group at frame ${String(group.frame)} and is drawn after it; see the list for the frames`,
        ];
  });
}
