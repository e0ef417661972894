"""Models by who answers: LiteLLM, an OpenAI-compatible endpoint, or the package itself."""
