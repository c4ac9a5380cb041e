"""Stands in for packages that the suites import and that playing their tasks never uses: clients of models, and
frameworks for evaluations. They are many times as large as the suites."""

import importlib.abc
import importlib.machinery
import sys
import types


class AnyClass(type):
    """A class that has every attribute, and can stand in every annotation."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in_class(name)

    def __getitem__(cls, _item):
        return cls

    def __or__(cls, _other):
        return cls

    __ror__ = __or__


def stand_in_class(name):
    # As a decorator with arguments it leaves what it decorates alone.
    members = {"__init__": lambda self, *args, **kwargs: None, "__call__": lambda self, decorated: decorated}
    return AnyClass(name, (), members)


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in_class(name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def stand_in_for(*packages):
    """From now on, `import` finds a stand-in for each of these packages, installed or not."""
    sys.meta_path.insert(0, StandIns(packages))
