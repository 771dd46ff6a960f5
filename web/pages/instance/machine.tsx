/** How much there is of the machine, and how much of it is in use. */
import { bytesInWords } from '../../ui/bytes.ts';
import { Section } from '../../ui/page.tsx';
import type { Status } from './documents.ts';

export function Machine({ machine }: { machine: Status['machine'] }) {
  const { name, cores, load, memoryBytes, memoryFreeBytes, diskBytes, diskFreeBytes } = machine;
  return (
    <Section title="Machine">
      <p className="instance-machine">
        <bdi>{name}</bdi>
      </p>
      <Meter
        label="Processor"
        share={load / cores}
        words={`load of ${load.toFixed(2)} on ${String(cores)} ${cores === 1 ? 'core' : 'cores'}`}
      />
      <Meter
        label="Memory"
        share={1 - memoryFreeBytes / memoryBytes}
        words={`${bytesInWords(memoryFreeBytes)} of ${bytesInWords(memoryBytes)} free`}
      />
      <Meter
        label="Disk"
        share={1 - diskFreeBytes / diskBytes}
        words={`${bytesInWords(diskFreeBytes)} of ${bytesInWords(diskBytes)} free`}
      />
    </Section>
  );
}

const high = 0.9;

function Meter({ label, share, words }: { label: string; share: number; words: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <div className="instance-meter">
      <span>{label}</span>
      <span className="instance-meter-words">{words}</span>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={words}
        className={`instance-bar${share >= high ? ' instance-bar-high' : ''}`}
      >
        <span style={{ width: `${String(percent)}%` }} />
      </div>
    </div>
  );
}
