# %% [markdown]
# # In a scikit-learn pipeline
#
# `SlideClassifier` keeps scikit-learn's conventions, so that it takes its place in pipelines and searches. Here
# titles are to be filed under one of forty subjects; each subject has words of its own.

# %%
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from pyslide import SlideClassifier

generator = np.random.default_rng(0)
words = np.array([f"word{number}" for number in range(300)])
favourites = generator.choice(300, size=(40, 8))
subjects = generator.integers(0, 40, size=1200)
titles = [" ".join(words[np.append(generator.choice(favourites[subject], 4), generator.choice(300, 3))])
          for subject in subjects]  # fmt: skip
labels = np.array([f"subject {subject}" for subject in subjects])
print(titles[0], "->", labels[0])

# %% [markdown]
# With fewer than `hash_from` classes all of them are computed; 20 asks for tables here. The search tries two values
# of K and of the learning rate on three folds.

# %%
pipeline = make_pipeline(
    TfidfVectorizer(),
    SlideClassifier(hidden_sizes=(32,), tables=20, hash_from=20, minimum_active=10, epochs=8, random_state=0),
)
grid = {"slideclassifier__codes_per_table": [1, 3], "slideclassifier__learning_rate": [0.005, 0.02]}
search = GridSearchCV(pipeline, grid, cv=3)
train_titles, test_titles, train_labels, test_labels = train_test_split(titles, labels, random_state=0)
search.fit(train_titles, train_labels)
for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"{score:.3f}  {parameters}")

# %%
accuracy = search.score(test_titles, test_labels)
print(f"held-out accuracy {accuracy:.2f}")
assert accuracy > 0.7
