//! Keys of model providers, and of services that agents use beside them.

use super::{Rule, token, word};

pub(super) static RULES: &[Rule] = &[
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[a-z]{2,8}[0-9]{2}-[0-9A-Za-z_-]{60,}", 3.0),
    token(
        "openai-project-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        r"sk-(?:proj|svcacct|admin|None)-[0-9A-Za-z_-]{40,}",
        3.0,
    ),
    token("openrouter-key", &["sk-or-"], r"sk-or-(?:v1-)?[0-9a-f]{64,}", 3.0),
    word("openai-key", &["sk-"], r"sk-[0-9A-Za-z_-]{16,}T[34]BlbkFJ[0-9A-Za-z_-]{20,}|sk-[0-9A-Za-z]{32,}", 3.5),
    word("elevenlabs-key", &["sk_"], r"sk_[0-9a-f]{48}", 3.0),
    word("hugging-face-token", &["hf_", "api_org_"], r"(?:hf_|api_org_)[0-9A-Za-z]{34}", 3.5),
    token("groq-key", &["gsk_"], r"gsk_[0-9A-Za-z]{48,}", 3.5),
    token("perplexity-key", &["pplx-"], r"pplx-[0-9A-Za-z]{48,}", 3.5),
    token("xai-key", &["xai-"], r"xai-[0-9A-Za-z_]{70,}", 3.5),
    word("replicate-token", &["r8_"], r"r8_[0-9A-Za-z_-]{37}", 3.5),
    token("nvidia-key", &["nvapi-"], r"nvapi-[0-9A-Za-z_-]{60,}", 3.5),
    token("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", 3.0),
    word("tavily-key", &["tvly-"], r"tvly-[0-9A-Za-z-]{32,}", 3.5),
    word("firecrawl-key", &["fc-"], r"fc-[0-9a-f]{32}", 3.0),
    token("jina-key", &["jina_"], r"jina_[0-9A-Za-z]{60}", 3.5),
    token("wandb-key", &["wandb_v1_"], r"wandb_v1_[0-9A-Za-z_]{40,}", 3.5),
    token("together-key", &["tgp_v1_"], r"tgp_v1_[0-9A-Za-z_-]{40,}", 3.5),
    word("cursor-key", &["key_"], r"key_[0-9a-f]{64}", 3.0),
    word("brave-search-key", &["BSA"], r"BSA[0-9A-Za-z_-]{27,28}", 3.8),
    word("posthog-key", &["phc_", "phx_"], r"ph[cx]_[0-9A-Za-z]{40,}", 3.5),
    word("e2b-key", &["e2b_"], r"e2b_[0-9a-f]{40}", 3.0),
];
