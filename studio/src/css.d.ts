/** Style sheets are imported for their effect; the build inlines them. */
declare module "*.css";
