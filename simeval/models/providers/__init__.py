"""Models by provider: LiteLLM, an OpenAI-compatible endpoint, or the package itself."""
