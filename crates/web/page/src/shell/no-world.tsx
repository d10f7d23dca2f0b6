// What stands in a view of a world that is not there.

import { Empty } from "../ui/parts";
import { TopBar } from "./top-bar";

export function NoWorld({ title }: { title: string }) {
  return (
    <>
      <TopBar title={title} />
      <Empty icon="globe" title="There is no such world">
        <p class="soft">It may have been deleted, or the address is mistyped.</p>
        <a class="button" href="/worlds">
          All worlds
        </a>
      </Empty>
    </>
  );
}
