// What `vite.config.ts` makes of the command line's templates.
declare module "virtual:templates" {
  const templates: { name: string; settings: import("./api/types").Fields }[];
  export default templates;
}
