"""turns.py - what one round of tests leaves to another, in `make test` and `make check` as they are (tests/run.sh gives --turns). Each case runs in
one of the rounds at least, and each test in every round that it is fit for. Nothing takes turns where tests are named (`make test ARGS=...`, pytest by
itself), in `make quick`, among the long repetitions, or with SANDPIPER_TEST_EVERY=1: there everything runs.

  builds    A test with several cases runs its first one in both builds, and each of the others in one: of two cases beside each other mostly one in
            the release build and one with sanitizers. A case that only one build is fit for (no_asan, asan_once, an engine other than bwrap) runs there.
  engines   What touches the boundary of a sandbox runs on every engine: limits, files, packages, network, copies, how it starts and how it ends. What lies
            on this side of it (ONE_ENGINE) has one outcome whatever the engine is: it runs on one in the release build, the next of its file on the next engine.
  probes    tests/probes run on bwrap in `make check` (`make probe`), as on every engine, and so not in `make test` as well (PROBES).
"""
import os

from program import ENGINES, PLACES, engine_of, why_not

PROBES = ("test_probes", "test_posture")
# The loop, requests and answers, the terminal, what is told of files, rows of a batch, checks of arguments, parts of the guest above its channel.
ONE_ENGINE = {
    "test_add": ["the_first_cell_finds_pandas_imported"],
    "test_agents": ["traffic"],
    "test_allow_net": ["hosts_of_the_file_are_left_out_for_one_run", "greeting_of_a_chat", "wrong_words", "sandboxes_of_fronts_have_none"],
    "test_batch": ["a_table"],
    "test_chat": ["a_conversation"],
    "test_children": ["joblib_says_nothing"],
    "test_delivery": ["what_has_not_changed_is_not_written_again", "the_same_figure_is_one_file", "it_is_one_quota_for_all_questions_of_a_script",
                      "many_small_files_and_figures_count", "a_map_changes_no_time_of_a_file"],
    "test_elsewhere": ["the_model_and_the_user_are_told"],
    "test_exec": ["a_file_of_python", "a_figure_is_delivered", "figures_have_a_limit", "arguments_are_the_codes", "a_file_finds_what_lies_beside_it"],
    "test_interrupts": ["question_while_stdin_is_read"],
    "test_json": ["a_question_with_a_call"],
    "test_languages": ["a_model_has_a_shell_that_stays", "sql_sees_frames_and_keeps_tables", "a_language_of_the_users_own"],
    "test_named": ["questions_chat_and_exec_share_it", "options_that_differ"],
    "test_parquet": ["the_profile_is_true_and_its_code_runs", "what_is_no_parquet"],
    "test_pipe": ["only_the_answer_is_on_stdout", "a_flood_is_cut_on_the_screen"],
    "test_receipt": ["a_colleague_repeats_an_answer"],
    "test_rich": ["forms_in_json", "a_figure_has_the_letters_of_other_scripts"],
    "test_runner": ["answers"],
    "test_runner_ask": ["a_question"],
    "test_stdin": ["small_text_is_shown_whole", "larger_data_is_shown_as_a_profile"],
    "test_unread": ["exec"],
    "test_vision": ["a_figure_that_code_drew"],
}


def place_of(item):
    """The engine, or the engine as a user, that this case is for; None: it has no choice."""
    values = getattr(item, "callspec", None) and item.callspec.params.values() or ()
    return next((v for v in values if isinstance(v, str) and v in PLACES), None)


def case_of(item):
    """What tells it from the other cases of its test, but for the place."""
    return item.callspec.id.replace(place_of(item) or "", "") if getattr(item, "callspec", None) else ""


def engines_here():
    """Those that can take turns."""
    wanted = os.environ.get("SANDPIPER_TEST_ENGINES", "")
    return [e for e in ENGINES if (wanted == "required" or why_not(e) is None) and (wanted in ("", "required") or e in wanted.split())]


def other_build(item, number, asan):
    """Does the other build run this case, the number-th of its test, and it alone?"""
    if number == 0 or item.get_closest_marker("no_asan") or item.get_closest_marker("asan_once") or engine_of(place_of(item) or "bwrap") != "bwrap":
        return False
    # 0 1 1 0 1 0 0 1 ...: where a parameter has two values, or four, neither build has one of them alone.
    return (bin(number).count("1") % 2 == 1) != asan


def left_to_another(items, asan):
    """The items that this round leaves out, of all there are."""
    engines, tests, turns, out = engines_here(), {}, {}, set()
    for item in items:
        file, name = item.path.stem, getattr(item, "originalname", item.name)
        cases = tests.setdefault((file, item.cls, name), {})
        number = cases.setdefault(case_of(item), len(cases))
        if item.get_closest_marker("check"):
            continue
        if other_build(item, number, asan) or file in PROBES and item.get_closest_marker("no_asan"):
            out.add(item)
        if place_of(item) in engines and not asan and name[len("test_"):] in ONE_ENGINE.get(file, ()):
            turns.setdefault(file, {}).setdefault((name, number), []).append(item)
    for of_file in turns.values():
        for turn, on in enumerate(of_file.values()):
            out.update(on)
            out.discard(on[turn % len(on)])
    return out
