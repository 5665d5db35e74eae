"""`python -m pyscale`."""

from pyscale.app import main

if __name__ == "__main__":
    main()
