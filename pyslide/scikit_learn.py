"""What scikit-learn lends to `pyslide.classifier` where it is installed, and what stands in for it where it is not.

No other module imports scikit-learn, and `import pyslide` does not import this one.
"""

from __future__ import annotations

import inspect
from typing import Any

from pyslide.errors import OutOfRangeError, PyslideError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.exceptions import NotFittedError as TheirNotFittedError

    class NotFittedError(PyslideError, TheirNotFittedError):  # type: ignore[misc]
        """An estimator is asked for something before it was fitted."""

except ImportError:

    class NotFittedError(PyslideError, ValueError, AttributeError):  # type: ignore[no-redef]
        """An estimator is asked for something before it was fitted."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data came in another shape than expected, and were brought into that."""

    class ClassifierMixin:  # type: ignore[no-redef]
        """Says nothing where there is no scikit-learn to hear it."""

    class BaseEstimator:  # type: ignore[no-redef]
        """The parameters of an estimator by name: those of its ``__init__``."""

        @classmethod
        def _defaults(cls) -> dict[str, Any]:
            parameters = list(inspect.signature(cls).parameters.values())
            return {parameter.name: parameter.default for parameter in parameters}

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name; ``deep`` would add those of estimators among them."""
            return {name: getattr(self, name) for name in sorted(self._defaults())}

        def set_params(self, **params: Any) -> BaseEstimator:
            """Set some parameters and return the estimator.

            Raises
            ------
            OutOfRangeError
                If there is no parameter of that name.
            """
            known = sorted(self._defaults())
            for name, value in params.items():
                if name not in known:
                    raise OutOfRangeError(f"parameter: expected one of {', '.join(known)}, got {name!r}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            """Return how to make the estimator, without what is as it would be anyway."""
            defaults, values = self._defaults(), self.get_params()
            changed = [f"{name}={values[name]!r}" for name in defaults if repr(values[name]) != repr(defaults[name])]
            return f"{type(self).__name__}({', '.join(changed)})"


__all__ = ["BaseEstimator", "ClassifierMixin", "DataConversionWarning", "NotFittedError"]
