# hide.py - part of the worker, compiled when the code imports traceback or warnings: below each cell are
# frames of ours, which concern nobody. Where Python prints a stack, it ends with the code's own.


def is_theirs(pair):
    """A frame, and where it is."""
    frame = pair[0]
    return frame.f_globals is not globals() and not frame.f_code.co_filename.startswith(OURS)


def without_our_frames(module):
    extract = module.StackSummary.__dict__['extract'].__func__

    def extract_theirs(klass, frames, **how):
        return extract(klass, filter(is_theirs, frames), **how)
    module.StackSummary.extract = classmethod(extract_theirs)
    for name in 'walk_tb', '_walk_tb_with_full_positions':     # the second one since Python 3.11
        if hasattr(module, name):
            setattr(module, name, lambda tb, walk=getattr(module, name): filter(is_theirs, walk(tb)))


def without_our_places(module):
    """A warning about the caller of a cell's first line, as python3 puts it."""
    if '_formatwarnmsg_impl' not in module.__dict__:
        return
    form = module._formatwarnmsg_impl

    def form_theirs(message):
        if message.filename.startswith(OURS):
            message.filename, message.lineno, message.line = 'sys', 1, ''
        return form(message)
    module._formatwarnmsg_impl = form_theirs
