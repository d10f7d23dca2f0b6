// Permissions for single chats, of all chats of a world. All of them or a problem: a list that leaves some out in silence would
// say that nothing is permitted where something is.

import { chats as chatCalls } from "../api/calls";
import { all, ask, path, Problem } from "../api/http";
import type { Chat, Fields } from "../api/types";

export interface Grant {
  id: string;
  chat_id: string;
  agent_id: string;
  tool: string;
  matches: Fields[];
  granted_by: string;
  created_at: string;
}

/** Chats that are asked about at the same time. */
const AT_ONCE = 6;

const pathOf = (chat: Chat) => path("worlds", chat.world_id, "chats", chat.id, "grants");

export async function loadGrants(world: string): Promise<Grant[]> {
  const chats = await chatCalls.list(world);
  const found: Grant[][] = [];
  let next = 0;
  const work = async () => {
    while (next < chats.length) {
      const at = next;
      next += 1;
      const chat = chats[at];
      if (chat) found[at] = await grantsOf(chat);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found.flat();
}

async function grantsOf(chat: Chat): Promise<Grant[]> {
  try {
    return await all<Grant>(pathOf(chat));
  } catch (error) {
    // Deleted meanwhile: nothing is permitted in it any more.
    if (error instanceof Problem && error.status === 404) return [];
    throw error;
  }
}

export function revoke(world: string, grant: Grant): Promise<void> {
  return ask(path("worlds", world, "chats", grant.chat_id, "grants", grant.id), { method: "DELETE" });
}
