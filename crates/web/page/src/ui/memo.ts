// Keeps a component from being drawn again while what it is given stays the same.

import { Component, createElement, type ComponentType, type FunctionComponent } from "preact";

export function memo<P extends object>(inner: FunctionComponent<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      const names = new Set([...Object.keys(now), ...Object.keys(then)]);
      return [...names].some((name) => now[name] !== then[name]);
    }

    override render(props: P) {
      return createElement(inner, props);
    }
  } as unknown as ComponentType<P>;
}
