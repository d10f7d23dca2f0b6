// The worlds there are and their chats. A fold of what was loaded and what is heard; asks the server where news are only a hint.

import { computed, signal } from "@preact/signals";
import { chats as chatCalls, worlds as worldCalls } from "../api/calls";
import { problemText } from "../api/http";
import type { Activity, Chat, News, World } from "../api/types";

export const worlds = signal<World[] | null>(null);
export const worldsProblem = signal<string | null>(null);
/** By world; absent where they were not loaded yet. */
export const chats = signal<Record<string, Chat[]>>({});
/** Chats in which something was said since they were last looked at. */
export const unread = signal<ReadonlySet<string>>(new Set());

const asked = new Set<string>();
let openChat: string | null = null;

export const worldById = computed(() => new Map((worlds.value ?? []).map((world) => [world.id, world])));

/** What worlds are called in lists: those with the same name also by their id. */
export const worldNames = computed(() => namesOf(worlds.value ?? []));

export function namesOf(all: readonly Pick<World, "id" | "name">[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(all.map(({ id, name }) => [id, (counts.get(name) ?? 0) > 1 ? `${name} (${id})` : name]));
}

export function nameOfWorld(id: string): string {
  return worldNames.value.get(id) ?? id;
}

export function findChat(world: string, chat: string): Chat | undefined {
  return chats.value[world]?.find((one) => one.id === chat);
}

export function looksAt(chat: string | null): void {
  openChat = chat;
  if (chat && unread.peek().has(chat)) {
    const rest = new Set(unread.peek());
    rest.delete(chat);
    unread.value = rest;
  }
}

/** Everything anew, after the stream of events began. */
export async function loadWorlds(): Promise<void> {
  try {
    const found = await worldCalls.list();
    worlds.value = found.sort((a, b) => a.name.localeCompare(b.name));
    worldsProblem.value = null;
  } catch (error) {
    worldsProblem.value = problemText(error);
    return;
  }
  await Promise.all([...asked].map((world) => loadChats(world)));
}

/** The chats of a world, once. */
export function wantChats(world: string): void {
  if (asked.has(world)) return;
  asked.add(world);
  void loadChats(world);
}

async function loadChats(world: string): Promise<void> {
  try {
    const found = await chatCalls.list(world);
    chats.value = { ...chats.peek(), [world]: sorted(found) };
  } catch {
    // The world may be gone; the list of worlds says so.
    asked.delete(world);
  }
}

function sorted(found: Chat[]): Chat[] {
  return [...found].sort((a, b) => (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0));
}

export function putWorld(world: World): void {
  const others = (worlds.peek() ?? []).filter((one) => one.id !== world.id);
  worlds.value = [...others, world].sort((a, b) => a.name.localeCompare(b.name));
}

export function putChat(chat: Chat): void {
  const known = chats.peek()[chat.world_id] ?? [];
  const others = known.filter((one) => one.id !== chat.id);
  chats.value = { ...chats.peek(), [chat.world_id]: sorted([chat, ...others]) };
}

function changeChat(world: string, id: string, change: Partial<Chat>): void {
  const known = chats.peek()[world];
  if (!known?.some((chat) => chat.id === id)) return;
  const next = known.map((chat) => (chat.id === id ? { ...chat, ...change } : chat));
  chats.value = { ...chats.peek(), [world]: change.updated_at ? sorted(next) : next };
}

function dropChat(world: string, id: string): void {
  const known = chats.peek()[world];
  if (known) chats.value = { ...chats.peek(), [world]: known.filter((chat) => chat.id !== id) };
}

export function dropWorld(id: string): void {
  worlds.value = (worlds.peek() ?? []).filter((world) => world.id !== id);
  const { [id]: _gone, ...rest } = chats.peek();
  chats.value = rest;
  asked.delete(id);
}

export function hearOfWorlds(news: News): void {
  const chat = news.chat_id ?? null;
  switch (news.type) {
    case "activity":
      if (chat) changeChat(news.world_id, chat, { activity: news.data as Activity });
      break;
    case "message":
      if (!chat) break;
      changeChat(news.world_id, chat, { updated_at: news.at });
      if (chat !== openChat && news.data.role === "assistant" && news.data.content) {
        unread.value = new Set([...unread.peek(), chat]);
      }
      break;
    case "system":
      if (chat && news.data.code === "title") changeChat(news.world_id, chat, { title: news.data.text });
      break;
    case "crud":
      void changed(news.world_id, news.data.entity, news.data.action, news.data.id);
      break;
    default:
  }
}

async function changed(world: string, entity: string, action: string, id: string): Promise<void> {
  try {
    if (entity === "chat") {
      if (action === "deleted") dropChat(world, id);
      else if (asked.has(world)) putChat(await chatCalls.read(world, id));
    } else if (entity === "world" && action === "deleted") {
      dropWorld(id);
    } else if (entity !== "message") {
      putWorld(await worldCalls.read(world));
    }
  } catch {
    // Gone meanwhile: its own news say so.
  }
}
