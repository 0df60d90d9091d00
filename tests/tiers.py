"""The second tier of tests, which `pytest -m ci` runs: attacks, faults, processes that die, and tables that try every
case of what the first tier tries one of. In the first are the pure core and one journey for each feature."""

SECOND_TIER = (
    *("adversary", "bounds", "chaos"),
    *("control/test_bad_input.py", "control/test_more_dollars.py", "control/test_more_money.py"),
    *(
        "control/test_outliving.py",
        "control/test_shutting_down.py",
        "control/test_take_over_at_the_prompt.py",
    ),
    *(
        "control/test_ticks.py",
        "control/test_waking.py",
        "docs/test_examples.py",
        "docs/test_handwritten_run.py",
    ),
    *("evals", "golden/test_databases.py"),
    *("interfaces/cli/test_cli_packs.py", "interfaces/cli/test_cli_plans.py"),
    *("interfaces/cli/test_cli_processes.py", "interfaces/cli/test_cli_progress.py"),
    "interfaces/cli/test_cli_requests.py",
    *("journeys/test_dialects.py", "journeys/test_large_runs.py", "journeys/test_local_only.py"),
    *("journeys/test_owner.py", "journeys/test_reading_within_caps.py", "journeys/test_guidance.py"),
    *("models/test_canaries.py", "models/test_faults.py", "models/test_providers.py"),
    *("packs/test_changed_packs.py", "phases/test_brief.py", "phases/test_reading_to_fit.py"),
    *("report/test_inert.py", "report/test_inert_javascript.py", "report/test_render_fuzz.py"),
    *("research/test_estimate.py", "research/test_nothing_dropped.py"),
    *("security/test_bombs.py", "security/test_injection.py", "security/test_leaks.py"),
    *("security/test_task_egress.py", "security/test_task_injection.py", "security/test_web_injection.py"),
    *("server/test_bodies.py", "server/test_hosts.py", "server/test_openapi.py", "server/test_serving.py"),
    *("server/test_server_page.py", "server/test_several_servers.py"),
    "settings/test_where_keys_go.py",
    *("sources/documents/test_corpus_apart.py", "sources/documents/test_document_readers.py"),
    *("sources/documents/test_hostile_files.py", "sources/extract/test_hostile.py"),
    *("sources/extract/test_pool.py", "sources/extract/test_readers.py", "sources/fetch/test_client.py"),
    *("sources/search/test_providers.py", "store/test_damage.py", "store/test_sqlite_processes.py"),
    *("supervisor/test_deciding.py", "supervisor/test_witness.py", "tasks/test_task_kills.py"),
    *("testing", "test_every_setting.py", "test_pattern_growth.py", "test_timed.py"),
)
