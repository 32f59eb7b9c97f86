import sys

from spnmkl.cli import main

sys.exit(main())
