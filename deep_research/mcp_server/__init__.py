"""The engine as a server of the Model Context Protocol, for one client over stdin and stdout. Needs the extra ``mcp``."""
