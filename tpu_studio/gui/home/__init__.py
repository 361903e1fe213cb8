"""Home: what would you like to train?"""
