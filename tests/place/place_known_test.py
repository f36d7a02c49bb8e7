#!/usr/bin/env python3
"""Problems of check_place.py's generator on which placement was once worse than SAGA. Compares with recorded results of the best of
SAGA's schedulers, so that no environment with SAGA is needed. $PLACE_DRIVER: the built place_driver."""
import os
import random
import unittest

import check_place

BEST = {38: (3006.75, 2318.0), 41: (936.75, 936.75)}  # seed: microseconds with links that queue, and in SAGA's model, whose links do not queue


class Known(unittest.TestCase):
    def test_no_worse_than_what_is_known(self):
        place = check_place.Lines(os.environ["PLACE_DRIVER"])
        for seed, known in BEST.items():
            _, problem = check_place.related(random.Random(seed))
            for problem["links_queue"], best in zip((True, False), known):
                found = place.ask({"do": "place", "problem": problem})
                self.assertLessEqual(found["us"], best * (1 + 1e-9), (seed, found["by"]))


if __name__ == "__main__":
    unittest.main()
