"""Where text comes from: quotes at their places, sites, publishers, copies, independence. Pure."""
