"""Who the program is to Google: accounts, their secrets, and signing in (browser, gcloud, key file).

accounts.py   the known accounts and their credentials      accounts.json holds no secret
browser.py    authorization code with PKCE over a loopback port
gcloud.py     application default credentials that gcloud left
secrets.py    refresh tokens: the system's keyring, or a private file that the screen tells about
"""
